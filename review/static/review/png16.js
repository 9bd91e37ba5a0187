"use strict";
// Grey PNG of 16 bits to numbers. A browser gives only 8 bits of each channel to a page (HTML,
// CanvasRenderingContext2D.getImageData), so the file is opened here: chunks, zlib, line filter
// (PNG, third edition, 5, 7.2, 9 and 10: www.w3.org/TR/png-3/). The server sends it as it
// lies on disk. Our encoder writes one line filter, "up", and nothing else is taken.

const SIGNATURE = 8;
const UP = 2;

// Rows, columns and steps of a slice; an error where the file is another kind of PNG.
export async function steps(bytes) {
  const view = new DataView(bytes);
  const packed = [];
  let columns = 0;
  let rows = 0;
  for (let at = SIGNATURE; at < bytes.byteLength; ) {
    const length = view.getUint32(at);
    const name = String.fromCharCode(...new Uint8Array(bytes, at + 4, 4));
    if (name === "IHDR") {
      columns = view.getUint32(at + 8);
      rows = view.getUint32(at + 12);
      if (view.getUint8(at + 16) !== 16 || view.getUint8(at + 17) !== 0) throw new Error("depth");
    }
    if (name === "IDAT") packed.push(new Uint8Array(bytes, at + 8, length));
    at += length + 12;
  }
  const stream = new Blob(packed).stream().pipeThrough(new DecompressionStream("deflate"));
  const lines = new Uint8Array(await new Response(stream).arrayBuffer());
  const width = 2 * columns;
  const values = new Uint16Array(rows * columns);
  const above = new Uint8Array(width);
  for (let row = 0; row < rows; row += 1) {
    const start = row * (width + 1);
    if (lines[start] !== UP) throw new Error("filter");
    for (let place = 0; place < width; place += 1) above[place] += lines[start + 1 + place];
    for (let column = 0; column < columns; column += 1) {
      values[row * columns + column] = (above[2 * column] << 8) | above[2 * column + 1];
    }
  }
  return { rows, columns, values };
}
