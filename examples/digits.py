"""A small CNN learns scikit-learn's 8x8 digits on the tpu device."""
import sklearn.datasets
import torch
from torch import nn
from tqdm import tqdm

torch.manual_seed(0)
device = torch.device("tpu")
data = sklearn.datasets.load_digits()
images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(data.target)
order = torch.randperm(len(images))
train, test = order[:1500], order[1500:]
x, y = images[train].to(device), labels[train].to(device)

model = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(32),
    nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.2), nn.Linear(64 * 16, 10),
).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

epochs, batch = 8, 100
with tqdm(total=epochs * len(x) // batch, desc="training", unit="step") as progress:
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(batch):
            part = part.to(device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[part]), y[part])
            loss.backward()
            optimizer.step()
            progress.update()
        progress.set_postfix(loss=f"{loss.item():.3f}")

model.eval()
with torch.no_grad():
    right = (model(images[test].to(device)).argmax(1).cpu() == labels[test]).float().mean().item()
print(f"test accuracy: {right * 100:.1f} %")
