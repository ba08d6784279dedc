"""Hugging Face's Trainer, with a checkpoint after every fifth step."""

from parts import Log, Model, Rows, arguments
from transformers import Trainer, TrainerCallback, TrainingArguments

given = arguments()
log = Log(given.folder)


class Tell(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **more):
        if "loss" in logs:
            log.write(state.global_step, logs["loss"])


settings = TrainingArguments(
    output_dir=str(given.folder / "out"),
    max_steps=14,
    per_device_train_batch_size=4,
    save_steps=5,
    logging_steps=1,
    report_to=[],
    use_cpu=True,
    seed=7,
    dataloader_num_workers=given.workers,
    ignore_data_skip=given.forget == "place",
    save_only_model=False,
    disable_tqdm=True,
)
trainer = Trainer(model=Model(), args=settings, train_dataset=Rows(given.noise), callbacks=[Tell()])
if given.stop_after < 14:

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **more):
            control.should_training_stop = state.global_step >= given.stop_after

    trainer.add_callback(Stop())
trainer.train(resume_from_checkpoint=str(given.resume / "out" / "checkpoint-5") if given.resume else None)
