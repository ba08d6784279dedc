"""Lightning: a checkpoint inside an epoch does not hold PyTorch's generator, so dropout draws other numbers.

python lightning_generator.py    # prints the last loss of a training, and of the same one resumed
"""

import logging
import tempfile
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))

    def training_step(self, batch):
        self.loss = self.net(batch).square().mean()
        return self.loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def last_loss(folder, checkpoint=None):
    lightning.seed_everything(3, verbose=False)
    model, rows = Model(), torch.randn(16, 4)
    saves = ModelCheckpoint(folder, "after_{step}", every_n_train_steps=2, save_top_k=-1)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", callbacks=[saves], logger=False, enable_progress_bar=False
    )
    trainer.fit(model, torch.utils.data.DataLoader(rows, 4), ckpt_path=checkpoint, weights_only=False)
    return model.loss.item()


with tempfile.TemporaryDirectory() as folder:
    whole = last_loss(folder)
    print("whole", whole, "resumed", last_loss(folder, f"{folder}/after_step=2.ckpt"))
