"""Lightning, with a checkpoint after every step; it saves the place of a loader that has a state."""

import warnings

warnings.filterwarnings("ignore")
import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from parts import Log, Model, Resumable, Rows, arguments
from torch.utils.data import DataLoader

given = arguments()
log, rows, order = Log(given.folder), Rows(), torch.Generator().manual_seed(3)


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Model()

    def training_step(self, batch, _):
        loss = self.net(**batch)["loss"]
        log.write(self.global_step + 1, loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


if given.forget == "place":
    loader = DataLoader(rows, 4, shuffle=True, num_workers=2, generator=order)  # LINE place
elif given.forget == "draws":
    loader = Resumable(rows, order)
else:
    loader = Resumable(rows, order, seeds=order)
keep = ModelCheckpoint(dirpath=given.folder, every_n_train_steps=1, save_top_k=-1, filename="{step}")
trainer = lightning.Trainer(
    max_steps=given.stop_after,
    accelerator="cpu",
    callbacks=[keep],
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Net(), loader, ckpt_path=str(given.resume / "step=13.ckpt") if given.resume else None)
