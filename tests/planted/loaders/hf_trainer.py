"""Hugging Face's Trainer, with a checkpoint at every step."""

from parts import LAST, Log, Model, Rows, arguments
from transformers import Trainer, TrainerCallback, TrainingArguments

given = arguments()
log = Log(given.folder)


class Follow(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **more):
        if "loss" in logs:
            log.write(state.global_step, logs["loss"])

    def on_step_end(self, args, state, control, **more):
        control.should_training_stop = state.global_step >= given.stop_after


settings = TrainingArguments(
    output_dir=str(given.folder / "out"),
    max_steps=LAST,
    per_device_train_batch_size=4,
    learning_rate=0.05,
    save_steps=1,
    logging_steps=1,
    report_to=[],
    use_cpu=True,
    seed=7,
    dataloader_num_workers=2,
    ignore_data_skip=given.forget == "place",
    disable_tqdm=True,
)
rows = Rows(fixed=given.forget != "draws")
trainer = Trainer(model=Model(), args=settings, train_dataset=rows, callbacks=[Follow()])
checkpoint = str(given.resume / "out" / "checkpoint-13") if given.resume else None
trainer.train(resume_from_checkpoint=checkpoint)  # LINE place draws
