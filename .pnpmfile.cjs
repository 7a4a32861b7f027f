/*
 * The packages of Node name their platform as one word, which npm understands. pnpm takes only lists, and would install the Node of
 * every platform.
 */
const list = (value) => (typeof value === 'string' ? [value] : value);

module.exports = {
  hooks: {
    readPackage: (manifest) =>
      manifest.bin?.node === undefined ? manifest : { ...manifest, os: list(manifest.os), cpu: list(manifest.cpu) },
  },
};
