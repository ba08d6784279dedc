"""Write one small log with each real library: ``python make_logs.py FOLDER [LIBRARY…]``.

Every writer logs the same numbers, so that one test holds for all of them. What names the machine (host,
user, paths) is replaced before it is written, never in the file. A library that is not installed ends it with
exit code 3 and a line that says so; the versions that were used go to stdout.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import ClassVar

#: What floats can be: no exact decimal, the least, the largest, the signs of zero, none at all.
VALUES = [
    *(0.1, 1 / 3, 0.1 + 0.2, 1e22, -123456789.12345679, 5e-324, 1.7976931348623157e308, 2.0, 0.0, -0.0),
    *(math.nan, math.inf, -math.inf),
]
NOT_INSTALLED = 3


def wandb(folder: Path) -> None:
    import wandb as library

    settings = library.Settings(
        console="off",
        host="host",
        username="user",
        email="",
        disable_code=True,
        disable_git=True,
        save_code=False,
        program="train.py",
        program_relpath="train.py",
        program_abspath="",
        root_dir=str(folder),
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        silent=True,
    )
    run = library.init(project="logs", mode="offline", dir=folder, settings=settings)
    for step, value in enumerate(VALUES):
        run.log({"loss": value, "eval": {"accuracy": value}, "note": f"step {step}"})
    run.summary["best"] = 0.1
    run.finish()
    for place in (folder / "wandb").iterdir():  # links, the package's own log, lists of packages
        if place.is_symlink() or place.is_file():
            place.unlink()
        else:
            for inside in place.iterdir():
                if inside.is_dir():
                    shutil.rmtree(inside)


def _log_to_mlflow(uri: str) -> None:
    import mlflow as library

    os.chdir("/")  # the database names a folder below this one
    os.environ["LOGNAME"] = "user"
    library.set_tracking_uri(uri)
    client = library.MlflowClient()
    experiment = client.create_experiment("logs", artifact_location="mlflow-artifacts:/logs")
    for run_number in range(2):
        tags = {"mlflow.user": "user", "mlflow.source.name": "train.py"}
        run = client.create_run(
            experiment, start_time=1_763_800_000_000 + run_number, tags=tags, run_name="run"
        )
        for step, value in enumerate(VALUES):
            client.log_metric(
                run.info.run_id, "eval/loss", value, timestamp=1_763_800_000_000 + step, step=step
            )
            if not run_number:
                client.log_metric(run.info.run_id, "twice", 0.5, timestamp=1_763_800_000_000 + step, step=0)
        client.set_terminated(run.info.run_id, end_time=1_763_800_001_000)


def mlflow(folder: Path) -> None:
    import mlflow as _library  # noqa: F401  whether it is there

    _log_to_mlflow(f"sqlite:///{folder}/mlflow.db")


def mlflow_files(folder: Path) -> None:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    _log_to_mlflow((folder / "mlruns").as_uri())
    shutil.rmtree(folder / "mlruns" / "0", ignore_errors=True)


def keras(folder: Path) -> None:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras as library

    logger = library.callbacks.CSVLogger(str(folder / "training.csv"))
    logger.set_model(library.Sequential())
    logger.on_train_begin()
    for epoch, value in enumerate(VALUES):
        logger.on_epoch_end(epoch, {"loss": value})
    logger.on_train_end()


def stable_baselines3(folder: Path) -> None:
    import gymnasium
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.monitor import Monitor

    logger = configure(str(folder), ["csv"])
    for step, value in enumerate(VALUES):
        logger.record("train/loss", value)
        logger.dump(step)
    logger.close()
    env = Monitor(gymnasium.make("CartPole-v1"), str(folder / "monitor.csv"))
    for seed in range(3):
        env.reset(seed=seed)
        while not any(env.step(0)[2:4]):
            pass
    env.close()


def lightning(folder: Path) -> None:
    from lightning.pytorch.loggers import CSVLogger

    logger = CSVLogger(folder)
    for step, value in enumerate(VALUES):
        logger.log_metrics({"train_loss": value}, step=step)
    logger.log_metrics({"val_loss": 0.1}, step=len(VALUES))  # a column more: the file is written again
    logger.finalize("success")


def transformers(folder: Path) -> None:
    import torch
    from transformers import Trainer, TrainingArguments

    class Tiny(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([0.5]))

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": ((self.weight - x) ** 2).mean()}

    arguments = TrainingArguments(
        output_dir=str(folder), max_steps=1, logging_steps=1, report_to=[], save_strategy="no", use_cpu=True
    )
    trainer = Trainer(model=Tiny(), args=arguments, train_dataset=[{"x": torch.tensor([1.0])}] * 8)
    trainer.train()
    for value in VALUES:
        trainer.log({"value": value})
    for entry in trainer.state.log_history:  # so that the file is the same each time
        entry.update({name: 1.0 for name in entry if "runtime" in name or "per_second" in name})
    trainer.save_state()


class _Trial:
    """What the callbacks of Ray Tune ask of a trial."""

    checkpoint = None
    config: ClassVar = {"lr": 0.1}

    def __init__(self, place: Path) -> None:
        self.local_path = str(place)

    def init_local_path(self) -> None:
        Path(self.local_path).mkdir(parents=True, exist_ok=True)


def ray(folder: Path) -> None:
    from ray.tune import Trainable
    from ray.tune.logger import CSVLoggerCallback, JsonLoggerCallback

    class Training(Trainable):
        def setup(self, _config: dict) -> None:
            self._values = iter(VALUES)

        def step(self) -> dict:
            value = next(self._values)
            return {"loss": value, "env_runners": {"episode_return_mean": value}}

    name = "PPO_2026-11-22_12-34-56/PPO_CartPole-v1_1b2c3_00000_0_2026-11-22_12-34-56"
    training, trial = Training({"lr": 0.1}), _Trial(folder / name)
    trial.init_local_path()
    callbacks = JsonLoggerCallback(), CSVLoggerCallback()
    for number in range(len(VALUES)):
        result = training.train()
        result.update(hostname="host", node_ip="10.0.0.1", pid=4711 + number)
        for callback in callbacks:
            callback.log_trial_result(number, trial, result)
    for callback in callbacks:
        callback.log_trial_end(trial)
    for other in ("params.json", "params.pkl"):
        Path(trial.local_path, other).unlink()


def hydra(folder: Path) -> None:
    import hydra as _library  # noqa: F401  whether it is there

    program = folder / "train.py"
    program.write_text(
        textwrap.dedent("""
            import hydra, pathlib
            from hydra.core.hydra_config import HydraConfig
            @hydra.main(version_base=None)
            def train(config):
                place = pathlib.Path(HydraConfig.get().runtime.output_dir)
                (place / "metrics.csv").write_text("step,loss\\n0,0.1\\n1,-0.0\\n")
            train()
        """),
        encoding="utf-8",
    )
    for words in ([], ["--multirun", "+lr=1,2"]):
        command = [sys.executable, program.name, *words, "hydra.output_subdir=null", "hydra/job_logging=none"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    program.unlink()
    for other in (*folder.rglob("multirun.yaml"), *folder.rglob("__pycache__")):
        other.unlink()


def tqdm(folder: Path) -> None:
    from tqdm import tqdm as bar

    with (folder / "stderr.log").open("w", encoding="utf-8") as stream:
        for epoch in range(3):
            steps = bar(range(4), desc=f"epoch {epoch}", file=stream, ncols=80)
            for step in steps:
                steps.set_postfix(loss=1 / (1 + step + 4 * epoch))


WRITERS = (
    *(wandb, mlflow, mlflow_files, keras, stable_baselines3, lightning, transformers, ray, hydra, tqdm),
)
#: Name of a writer → distribution, where they differ.
_DISTRIBUTIONS = {
    "mlflow_files": "mlflow",
    "stable_baselines3": "stable-baselines3",
    "hydra": "hydra-core",
}


def main() -> int:
    here = Path(__file__).resolve().parent  # whose folders are called like the libraries
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != here]
    folder, *names = sys.argv[1:]
    by_name = {one.__name__: one for one in WRITERS}
    for name in names or by_name:
        place = Path(folder).resolve() / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            by_name[name](place)
        except ImportError as error:
            print(f"{name} cannot be written here: {error}", file=sys.stderr)
            return NOT_INSTALLED
        distribution = _DISTRIBUTIONS.get(name, name)
        print(f"{distribution} {importlib.metadata.version(distribution)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
