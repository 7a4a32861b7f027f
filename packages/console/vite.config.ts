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
      // A busy machine is no fault of the sources.
      checks: { bundlerTimings: false },
      onLog: (level, log, handle) => {
        // Libraries mark what servers that render React must leave to the browser; here everything is for the browser.
        if (log.code === 'MODULE_LEVEL_DIRECTIVE') return;
        // What needs Node in the packages of this repository is not imported, and left out.
        if (log.message.includes('externalized for browser compatibility')) return;
        handle(level, log);
      },
      // Of the packages of this repository only what is imported is taken.
      treeshake: { moduleSideEffects: (id) => !/\/packages\/(?!console\/)/.test(id) },
    },
  },
});
