import { defineConfig } from 'vite';

/** Built by hack/browser.ts. The backend serves `assets/` with their hashed names and puts a nonce into each page. */
export default defineConfig({
  root: 'src/browser',
  base: '/console/',
  publicDir: false,
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: { conditions: ['multiplane-source', 'module', 'browser', 'production'] },
  build: {
    target: 'es2023',
    cssTarget: 'chrome123',
    // The policy of the page allows no `data:` scripts or fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Libraries mark what servers that render React must leave to the browser; here everything is for the browser.
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
      // Of the packages of this repository only what is imported is taken.
      treeshake: { moduleSideEffects: (id) => !/\/packages\/(?!console\/)/.test(id) },
    },
  },
});
