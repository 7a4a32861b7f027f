import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { krewManifest, plugins } from './krew-manifest.ts';

const archive = { os: 'linux', arch: 'arm64', url: 'https://example.dev/a.tar.gz', sha256: 'f'.repeat(64) };

test.each(plugins)('the manifest of $name names its launcher in the archive', (plugin) => {
  const manifest = krewManifest(plugin, {
    version: '1.2.3',
    folder: 'multiplane-1.2.3',
    homepage: 'https://example.dev',
    archives: [archive],
  });
  expect(existsSync(join(import.meta.dirname, '..', '..', plugin.program))).toBe(true);
  expect(manifest).toMatchObject({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: plugin.name },
    spec: {
      version: 'v1.2.3',
      platforms: [
        {
          selector: { matchLabels: { os: 'linux', arch: 'arm64' } },
          uri: archive.url,
          sha256: archive.sha256,
          files: [{ from: 'multiplane-1.2.3/*', to: '.' }],
          bin: plugin.program,
        },
      ],
    },
  });
});

test('krew finds a plugin by the name of its launcher', () => {
  // kubectl looks for `-` of a command as `_`.
  for (const { name, program } of plugins) expect(program).toBe(`bin/kubectl-${name.replaceAll('-', '_')}`);
});
