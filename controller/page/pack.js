// Reads the columns that controller/page/html_page.h packs.
'use strict';

// What a packed value is at most: larger ones are packed as this.
plimsoll.MOST_PACKED = 2 ** 51 - 1;

// The whole numbers of a packed column: base64 of the differences from one to the next, the first from 0, each as an
// unsigned number of seven bits a byte, low ones first, with the sign in its lowest bit.
plimsoll.unpack = (text) => {
  const bytes = atob(text);
  const values = [];
  let last = 0;
  let folded = 0;
  let scale = 1;
  for (let at = 0; at < bytes.length; ++at) {
    const byte = bytes.charCodeAt(at);
    // No shifts: they would end at 32 bits.
    folded += (byte & 127) * scale;
    if (byte & 128) {
      scale *= 128;
      continue;
    }
    last += folded % 2 === 1 ? -(folded + 1) / 2 : folded / 2;
    values.push(last);
    folded = 0;
    scale = 1;
  }
  return values;
};
