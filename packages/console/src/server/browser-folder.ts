import { fileURLToPath } from 'node:url';

/** Where `make build` puts the browser application. The same from the sources and from what is compiled. */
export const browserFolder = (): string => fileURLToPath(new URL('../../dist/browser', import.meta.url));
