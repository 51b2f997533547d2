// Opens an address as soon as it is on the page.
export default function ({ data, parentElement }) {
  const place = parentElement.querySelector("span"), opened = `${data.number} ${data.address}`;
  if (place.dataset.opened === opened) return;
  place.dataset.opened = opened;
  openAgain(data.address, data.back);
}
