"""A regression with the Trainer that is stopped in its second epoch and resumed."""
import argparse
import json
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.utils import logging as hf_logging

hf_logging.set_verbosity_error()


class Model(torch.nn.Module):
    def __init__(self, log):
        super().__init__()
        self.layer, self.file, self.step = torch.nn.Linear(3, 1), log, 0

    def forward(self, inputs, labels):
        loss = torch.nn.functional.mse_loss(self.layer(inputs).squeeze(1), labels)
        self.file.write(json.dumps({"first": inputs[0, 0].item(), "loss": loss.item()}) + "\n")
        return {"loss": loss}


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = state.global_step >= self.step
        control.should_save = control.should_training_stop
        return control


def main(asked):
    set_seed(42)
    rows = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    data = [{"inputs": row, "labels": row.sum()} for row in rows]
    with open(asked.out / "metrics.jsonl", "w") as log:
        settings = TrainingArguments(
            output_dir=str(asked.out / "trainer"), num_train_epochs=3, per_device_train_batch_size=2, use_cpu=True,
            learning_rate=0.05, report_to="none", disable_tqdm=True, save_strategy="no", seed=42,
        )
        trainer = Trainer(model=Model(log), args=settings, train_dataset=data, callbacks=[StopAt(asked.stop)])
        stopped = next((asked.stopped / "trainer").glob("checkpoint-*")) if asked.stopped else None
        trainer.train(resume_from_checkpoint=str(stopped) if stopped else None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=18)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
