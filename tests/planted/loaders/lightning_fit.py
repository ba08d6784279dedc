"""Lightning, with a checkpoint after every step."""

import warnings

warnings.filterwarnings("ignore")
import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from parts import Log, Model, Rows, arguments
from torch.utils.data import DataLoader

given = arguments()
log = Log(given.folder)


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


loader = DataLoader(Rows(given.noise), 4, shuffle=True, num_workers=given.workers)
keep = ModelCheckpoint(dirpath=given.folder, every_n_train_steps=1, save_top_k=-1, filename="{step}")
trainer = lightning.Trainer(
    max_steps=given.stop_after,
    accelerator="cpu",
    callbacks=[keep],
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Net(), loader, ckpt_path=str(given.resume / "step=5.ckpt") if given.resume else None)
