import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { createProject } from './create-project.ts';
import { projectNames } from './project-names.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('create-project');
});
afterEach(() => folder.remove());

test('writes a project whose names are replaced in texts and in names of files', async () => {
  const files = await createProject({ folder: folder.join('My Provider'), kind: 'FlowPolicy', group: 'flows.acme.io' });
  expect(files).toEqual(
    expect.arrayContaining([
      '.gitignore',
      'config/crd.yaml',
      'config/export.yaml',
      'src/flowpolicy.ts',
      'test/provider.test.ts',
    ]),
  );
  const texts = files.map((file) => readFileSync(folder.join(`My Provider/${file}`), 'utf8'));
  expect(texts.filter((text) => /\{\{/.test(text))).toEqual([]);
  expect(texts[files.indexOf('package.json')]).toContain('"name": "my-provider"');
  expect(texts[files.indexOf('config/crd.yaml')]).toContain('name: flowpolicies.flows.acme.io');
});

describe('a folder', () => {
  test('with a file is refused, and stays as it is', async () => {
    writeFileSync(folder.join('notes.txt'), '');
    await expect(createProject({ folder: folder.path })).rejects.toThrow(
      `${folder.path} is not empty: it has notes.txt`,
    );
    expect(await readdir(folder.path)).toEqual(['notes.txt']);
  });

  test('that is a file is refused', async () => {
    writeFileSync(folder.join('file'), '');
    await expect(createProject({ folder: folder.join('file') })).rejects.toThrow(/failed to read .*ENOTDIR/);
  });

  test('may be a new repository', async () => {
    mkdirSync(folder.join('.git'));
    await createProject({ folder: folder.path });
    expect(await readdir(folder.path)).toContain('package.json');
  });
});

test.each([
  [{ kind: 'cowboy' }, 'invalid kind "cowboy"'],
  [{ kind: 'Cow-Boy' }, 'invalid kind "Cow-Boy"'],
  [{ kind: '../../Etc' }, 'invalid kind "../../Etc"'],
  [{ kind: 'KubeObject' }, 'the generated code uses this name'],
  [{ group: 'example' }, 'invalid group "example"'],
  [{ group: 'Example.dev' }, 'invalid group "Example.dev"'],
  [{ group: 'apps.k8s.io' }, 'it belongs to the Kubernetes community'],
])('%j is refused before anything is written', async (names, message) => {
  await expect(createProject({ folder: folder.path, ...names })).rejects.toThrow(message);
  expect(await readdir(folder.path)).toEqual([]);
});

test.each([
  ['Cowboy', 'cowboys'],
  ['Policy', 'policies'],
  ['Gateway', 'gateways'],
  ['Box', 'boxes'],
  ['Ingress', 'ingresses'],
  ['Switch', 'switches'],
])('the plural of %s is %s', (kind, plural) => {
  expect(projectNames({ project: 'x', group: 'a.io', kind }).plural).toBe(plural);
});
