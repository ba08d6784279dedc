"""Small logs in the formats of well-known programs, each with losses and clocks to choose.

A writer gets a folder, the losses of five steps, and a number of seconds by which this run was slower.
"""

import json

from . import test_from_mlflow, test_from_tensorboard, test_from_wandb

HEAD = "2026-01-0{day} 10:00:0{at}"


def keras_csv(folder, losses, late):
    rows = [f"{at},0.5,{loss}" for at, loss in enumerate(losses)]
    write(folder / "training.log.csv", "epoch,accuracy,loss", *rows)


def lightning_csv(folder, losses, late):
    rows = [f"{at},{10 * at + 9},{loss}," for at, loss in enumerate(losses)]
    write(
        folder / "lightning_logs/version_0/metrics.csv", "epoch,step,train_loss,val_loss", *rows, "4,49,,0.5"
    )


def trainer_state(folder, losses, late):
    history = [{"epoch": at / 5, "step": 10 * at + 10, "loss": loss} for at, loss in enumerate(losses)]
    end = {"epoch": 1.0, "step": 50, "train_runtime": 12.5 + late, "train_samples_per_second": 80.0 - late}
    state = {"best_metric": None, "epoch": 1.0, "global_step": 50, "log_history": [*history, end]}
    write(folder / "checkpoint-50/trainer_state.json", json.dumps(state, indent=2))


def fairseq_json(folder, losses, late):
    lines = []
    for at, loss in enumerate(losses):
        said = {"epoch": at + 1, "train_loss": str(loss), "train_wps": f"{9000 - 10 * late}"}
        said |= {"train_num_updates": str(100 * at + 100), "train_wall": f"{30 * at + 10 + late}"}
        lines.append(f"{HEAD.format(day=1 + late, at=at)} | INFO | train | {json.dumps(said)}")
    write(folder / "train.log", *lines)


def spacy_table(folder, losses, late):
    head = "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE "
    rule = "---  ------  ------------  --------  ------  ------"
    rows = [
        f"  {at}  {200 * at:6}  {loss:12.4f}  {25.5:8.2f}  {40.25:6.2f}  {0.4:6.2f}"
        for at, loss in enumerate(losses)
    ]
    write(
        folder / "spacy.log",
        "i Pipeline: ['tok2vec', 'ner']",
        "i Initial learn rate: 0.001",
        head,
        rule,
        *rows,
    )


def fastai_table(folder, losses, late):
    rows = [
        f"{at}         {loss:.6f}    {0.5:.6f}    {0.75:.6f}  00:0{1 + late}     "
        for at, loss in enumerate(losses)
    ]
    write(folder / "out.txt", "epoch     train_loss  valid_loss  accuracy  time    ", *rows)


def fastai_csv(folder, losses, late):
    rows = [f"{at},{loss},0.5,00:0{1 + late}" for at, loss in enumerate(losses)]
    write(folder / "history.csv", "epoch,train_loss,valid_loss,time", *rows)


def xgboost_lines(folder, losses, late):
    write(
        folder / "xgb.log",
        *(f"[{at}]\ttrain-rmse:{loss:.5f}\teval-rmse:0.75000" for at, loss in enumerate(losses)),
    )


def lightgbm_lines(folder, losses, late):
    begun = "[LightGBM] [Info] Total Bins 255", "[LightGBM] [Info] Start training from score 0.500000"
    rows = (f"[{at + 1}]\tvalid_0's auc: 0.9\tvalid_0's l2: {loss:g}" for at, loss in enumerate(losses))
    write(folder / "lgb.log", *begun, *rows)


def catboost_lines(folder, losses, late):
    rows = (
        f"{at}:\tlearn: {loss:.7f}\ttest: 0.5000000\tbest: 0.5000000 (0)\ttotal: {10 * at + 5 + late}ms"
        f"\tremaining: {(4.2 - at + late):.2f}s"
        for at, loss in enumerate(losses)
    )
    write(folder / "catboost.log", *rows, "", "bestTest = 0.5", "bestIteration = 0")


def catboost_tables(folder, losses, late):
    rows = (f"{at}\t{loss}" for at, loss in enumerate(losses))
    write(folder / "catboost_info/learn_error.tsv", "iter\tLogloss", *rows)
    left = (f"{at}\t{10 * at + 5 + late}\t{100 - 9 * at + late}" for at in range(5))
    write(folder / "catboost_info/time_left.tsv", "iter\tPassed\tRemaining", *left)


def timm_summary(folder, losses, late):
    rows = (f"{at},{loss},0.5,75.25,0.001" for at, loss in enumerate(losses))
    write(
        folder / "train/20260101-10000{late}-resnet18/summary.csv",
        "epoch,train_loss,eval_loss,eval_top1,lr",
        *rows,
    )


def nanogpt_lines(folder, losses, late):
    begun = "tokens per iteration will be: 491,520", "number of parameters: 10.65M"
    lines = [
        text
        for at, loss in enumerate(losses)
        for text in (
            f"step {10 * at}: train loss {loss:.4f}, val loss 2.5000",
            f"iter {10 * at}: loss 3.2500, time {100.25 + 7 * late + at:.2f}ms, mfu {1.25 + late / 10:.2f}%",
        )
    ]
    write(folder / "train.out", *begun, *lines)


def yolo_csv(folder, losses, late):
    head = ",".join(f"{name:>23}" for name in ("epoch", "time", "train/box_loss", "metrics/mAP50(B)"))
    rows = (f"{at + 1:23},{8.5 * (at + 1) + late:23},{loss:23},{0.5:23}" for at, loss in enumerate(losses))
    write(folder / "results.csv", head, *rows)


def detectron2_json(folder, losses, late):
    rows = [
        {
            "data_time": 0.01 + late,
            "eta_seconds": 100.5 - 9 * at + late,
            "iteration": 20 * at + 19,
            "total_loss": loss,
        }
        for at, loss in enumerate(losses)
    ]
    write(folder / "metrics.json", *map(json.dumps, rows))


def mmengine_json(folder, losses, late):
    rows = [
        {
            "lr": 0.01,
            "data_time": 0.01 + late,
            "loss": loss,
            "time": 0.3 + late,
            "epoch": 1,
            "step": 50 * at + 50,
        }
        for at, loss in enumerate(losses)
    ]
    place = folder / f"2026010{1 + late}_101010"
    write(place / "vis_data/scalars.json", *map(json.dumps, rows))
    write(
        place / f"2026010{1 + late}_101010.log", f"2026/01/0{1 + late} 10:10:10 - mmengine - INFO - seed: 7"
    )


def stable_baselines3_csv(folder, losses, late):
    rows = (
        f"{2048 * at + 2048},{900 - late},{2 * at + 2 + late},{loss},{at + 1}"
        for at, loss in enumerate(losses)
    )
    write(
        folder / "progress.csv",
        "time/total_timesteps,time/fps,time/time_elapsed,train/loss,time/iterations",
        *rows,
    )


def stable_baselines3_boxes(folder, losses, late):
    rule, boxes = "-" * 40, []
    for at, loss in enumerate(losses):
        rows = {"time/": "", "   fps": 900 - late, "   time_elapsed": 2 * at + 2 + late}
        rows |= {"   total_timesteps": 2048 * at + 2048, "train/": "", "   loss": f"{loss:.3g}"}
        boxes += [rule, *(f"| {name:<22} | {value:<11} |" for name, value in rows.items()), rule]
    write(folder / "train.log", "Using cpu device", *boxes)


def rllib_json(folder, losses, late):
    added = {
        "time_this_iter_s": 1.5 + late,
        "time_total_s": 2.5 + late,
        "hostname": "h",
        "node_ip": "10.0.0.1",
        "pid": 7 + late,
    }
    rows = [
        {"training_iteration": at + 1, "env_runners": {"episode_return_mean": loss}, **added}
        for at, loss in enumerate(losses)
    ]
    write(folder / "PPO_x/result.json", *map(json.dumps, rows))


def optuna_lines(folder, losses, late):
    name = f"no-name-{late}a8c2b1e-0d1f-4c3e-9a55-1f2e3d4c5b6a"
    begun = f"[I 2026-01-0{1 + late} 10:00:00,001] A new study created in memory with name: {name}"
    rows = (
        f"[I {HEAD.format(day=1 + late, at=at)},123] Trial {at} finished with value: {loss} and parameters: "
        f"{{'lr': 0.25, 'depth': 3}}. Best is trial 0 with value: 0.125."
        for at, loss in enumerate(losses)
    )
    write(folder / "study.log", begun, *rows)


def sklearn_lines(folder, losses, late):
    table = ["      Iter       Train Loss   Remaining Time "]
    table += [f"{at + 1:10} {loss:16.4f} {0.25 + late:15.2f}s" for at, loss in enumerate(losses)]
    write(folder / "fit.log", *table)


def keras_bars(folder, losses, late):
    lines = []
    for at, loss in enumerate(losses):
        bar = "".join(
            f"\r{half}/50 ---- {late + 1}s {late + 2}ms/step - loss: 9.0" for half in range(1, 3 + late)
        )
        lines += [
            f"Epoch {at + 1}/5",
            f"{bar}\r50/50 ---- {late + 1}s {late + 2}ms/step - accuracy: 0.5 - loss: {loss:.4f}",
        ]
    write(folder / "keras.log", *lines)


def llama_factory(folder, losses, late):
    rows = [
        {"current_steps": 10 * at + 10, "total_steps": 50, "loss": loss, "epoch": at / 5}
        | {"elapsed_time": f"0:00:1{at + late}", "remaining_time": f"0:00:3{at + late}"}
        for at, loss in enumerate(losses)
    ]
    write(folder / "trainer_log.jsonl", *map(json.dumps, rows))


def dino_txt(folder, losses, late):
    rows = [
        {"train_lr": 1e-4, "coco": [0.5, loss, 0.25], "epoch": at}
        | {"now_time": f"{HEAD.format(day=1 + late, at=at)}.125", "epoch_time": f"0:11:5{at + late}"}
        for at, loss in enumerate(losses)
    ]
    write(folder / "log.txt", *map(json.dumps, rows))


def verl_jsonl(folder, losses, late):
    rows = [
        {
            "step": at,
            "data": {"actor/pg_loss": loss, "perf/throughput": 100.5 - late, "timing_s/gen": 2.5 + late},
        }
        for at, loss in enumerate(losses)
    ]
    write(folder / "verl_metrics.jsonl", *map(json.dumps, rows))


def megatron_lines(folder, losses, late):
    rows = (
        f" iteration {10 * at + 10:8}/    5000 | consumed samples: {2560 * at:8} | "
        f"elapsed time per iteration (ms): {88474.25 + late} | lm loss: {loss:.6E} | nan iterations:   0 |"
        for at, loss in enumerate(losses)
    )
    write(folder / "train.log", f"using world size: 8 [2026-01-0{1 + late} 10:00:01]", *rows)


def allennlp_json(folder, losses, late):
    for at, loss in enumerate(losses):
        said = {"training_duration": f"0:01:0{at + late}", "epoch": at, "training_loss": loss}
        write(folder / f"metrics_epoch_{at}.json", json.dumps(said, indent=2))


def tensorboard_events(folder, losses, late):
    events = [test_from_tensorboard.event(at, 7.5 + late, loss=loss) for at, loss in enumerate(losses)]
    name = f"runs/Jan0{1 + late}_10-00-00_host/events.out.tfevents.160000000{late}.host.1.0"
    test_from_tensorboard.write(folder / name, test_from_tensorboard.version(7.5 + late), *events)


def wandb_offline(folder, losses, late):
    place = folder / f"wandb/offline-run-2026010{1 + late}_100000-ab12cd3{late}"
    place.mkdir(parents=True)
    records = [
        test_from_wandb.history(at, loss=str(loss), _runtime=str(at + late), _timestamp=f"1.{late}e9")
        for at, loss in enumerate(losses)
    ]
    data = test_from_wandb.framed(*records, test_from_wandb.END)
    (place / f"run-ab12cd3{late}.wandb").write_bytes(data)


def mlflow_files(folder, losses, late):
    rows = (f"{1_700_000_000_000 + at + late} {loss} {at}" for at, loss in enumerate(losses))
    write(folder / f"mlruns/0/0123456789abcdef0123456789abcde{late}/metrics/loss", *rows)


def mlflow_database(folder, losses, late):
    folder.mkdir()
    rows = [("a", "loss", at, loss, 0) for at, loss in enumerate(losses)]
    test_from_mlflow.made(folder / "mlflow.db", rows=rows, runs=[("a", 1 + late)])


def trainer_lines(folder, losses, late):
    rows = [f"{{'loss': {loss}, 'grad_norm': 1.5, 'epoch': {at / 5}}}" for at, loss in enumerate(losses)]
    end = f"{{'train_runtime': {12.5 + late}, 'train_samples_per_second': {80.5 - late}, 'epoch': 1.0}}"
    bar = f"  0%|  | 0/50 [00:00<?, ?it/s]\r 50%|# | 25/50 [00:0{1 + late}<00:01, {9 - late}.5it/s]"
    write(folder / "trainer.log", bar, *rows, end)


def mmcv_lines(folder, losses, late):
    rows = (
        f"2026-01-0{1 + late} 10:00:0{at},123 - mmdet - INFO - Epoch [1][{50 * at + 50}/250]\tlr: 1.000e-02, "
        f"eta: 0:0{4 - at}:0{late}, time: {0.3 + late / 10:.3f}, data_time: {0.01 + late / 10:.3f}, "
        f"memory: 4400, loss: {loss:.4f}"
        for at, loss in enumerate(losses)
    )
    write(folder / f"2026010{1 + late}_100000.log", *rows)


def absl_lines(folder, losses, late):
    rows = (
        f"I010{1 + late} 10:00:0{at}.000{late}23   4242 train.py:31] [{100 * at}] loss={loss}, "
        f"steps_per_sec={9.5 - late}"
        for at, loss in enumerate(losses)
    )
    write(folder / "train.INFO.log", *rows)


def lightning_bars(folder, losses, late):
    lines = [
        f"Epoch {at}:  50%|##   | 2/4 [00:0{late}<00:01, {3 + late}.00it/s, v_num=0, train_loss=9.0]\r"
        f"Epoch {at}: 100%|##| 4/4 [00:0{1 + late}<00:00, {3 + late}.00it/s, v_num=0, train_loss={loss:.3f}]"
        for at, loss in enumerate(losses)
    ]
    write(folder / "progress.log", *lines)


def padded_table(folder, losses, late):
    rows = (f"| {at:>5} | {loss:>8.4f} | {1.5 + late:>7.2f} |" for at, loss in enumerate(losses))
    write(folder / "table.txt", "| epoch |   loss   | seconds |", "|-------|----------|---------|", *rows)


def torchvision_lines(folder, losses, late):
    lines = (
        f"Epoch: [{at}]  [ 0/10]  eta: 0:0{at}:{30 + int(late * 9)}  lr: 0.01  loss: {loss:.4f} (2.0000)  "
        f"time: {1.5 + late:.4f}  data: {0.125 + late / 2:.4f}  max mem: 1024"
        for at, loss in enumerate(losses)
    )
    write(folder / "log.txt", *lines)


#: Writer → the metric that holds the losses, the step of the third one (None: the log says none), its clocks.
FORMATS = {
    tensorboard_events: ("loss", 2, ()),
    wandb_offline: ("loss", 2, ()),
    mlflow_files: ("loss", 2, ()),
    mlflow_database: ("loss", 2, ()),
    trainer_lines: ("loss", 0.4, ("train_runtime", "train_samples_per_second", "time", "speed")),
    mmcv_lines: ("loss", 1, ("date", "eta", "time", "data_time")),
    absl_lines: ("loss", None, ("date", "steps_per_sec")),
    lightning_bars: ("train_loss", 2, ("time", "speed")),
    padded_table: ("loss", 2, ("seconds",)),
    keras_csv: ("loss", 2, ()),
    lightning_csv: ("train_loss", 29, ()),
    trainer_state: ("loss", 30, ("train_runtime", "train_samples_per_second")),
    fairseq_json: ("train_loss", 3, ("date", "train_wps", "train_wall")),
    spacy_table: ("LOSS TOK2VEC", None, ()),
    fastai_table: ("train_loss", 2, ("time",)),
    fastai_csv: ("train_loss", 2, ("time",)),
    xgboost_lines: ("train-rmse", 2, ()),
    lightgbm_lines: ("valid_0's l2", 3, ()),
    catboost_lines: ("learn", 2, ("total", "remaining")),
    catboost_tables: ("catboost_info/learn_error.tsv:Logloss", 2, ("Passed", "Remaining")),
    timm_summary: ("train_loss", 2, ()),
    nanogpt_lines: ("train loss", 20, ("time", "mfu (%)")),
    yolo_csv: ("train/box_loss", 3, ("time",)),
    detectron2_json: ("total_loss", 59, ("data_time", "eta_seconds")),
    mmengine_json: ("loss", 150, ("data_time", "time")),
    stable_baselines3_csv: ("train/loss", 6144, ("time/fps", "time/time_elapsed")),
    stable_baselines3_boxes: ("train/loss", 6144, ("time/fps", "time/time_elapsed")),
    rllib_json: ("env_runners/episode_return_mean", 3, ()),
    optuna_lines: ("finished with value", 2, ("date",)),
    torchvision_lines: ("loss", 2, ("eta", "time", "data")),
    sklearn_lines: ("Train Loss", 3, ("Remaining Time",)),
    keras_bars: ("loss", None, ("time", "speed")),
    llama_factory: ("loss", 30, ("elapsed_time", "remaining_time")),
    dino_txt: ("coco[1]", 2, ("now_time", "epoch_time")),
    verl_jsonl: ("data/actor/pg_loss", 2, ("data/perf/throughput", "data/timing_s/gen")),
    megatron_lines: ("lm loss", 30, ("date", "elapsed time per iteration (ms)")),
    allennlp_json: ("training_loss", 2, ("training_duration",)),
}


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
