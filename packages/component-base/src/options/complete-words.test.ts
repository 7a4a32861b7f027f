import { expect, test } from '@jest/globals';
import { completeWords, type FlagNames } from './complete-words.ts';
import type { OptionTable } from './option-table.ts';

const table: OptionTable = {
  'root-directory': { type: 'text', description: 'Directory.' },
  format: { type: 'text', description: 'Format.', choices: ['text', 'json'] },
  quiet: { type: 'boolean', description: 'Quiet.', default: false },
  workspace: { type: 'text', description: 'Workspace.' },
};
const start = { help: { sections: { Flags: table } }, run: () => Promise.resolve(0) };
const program = {
  commands: [
    { name: 'start', summary: 'Start.', load: () => Promise.resolve(start) },
    {
      name: 'store',
      summary: 'Store.',
      load: () =>
        Promise.resolve({
          description: '',
          commands: [{ name: 'check', summary: 'Check.', load: () => Promise.resolve(start) }],
        }),
    },
  ],
};
const names: FlagNames = (flag, _prefix, flags) =>
  Promise.resolve(flag === 'workspace' ? [{ word: `root:${flags.get('root-directory') ?? 'none'}` }] : undefined);

test.each<[string[], string[] | undefined]>([
  [[], ['start', 'store']],
  [['sto'], ['store']],
  [['store', ''], ['check']],
  [['nosuch', ''], []],
  [
    ['start', '--'],
    ['--root-directory', '--format', '--quiet', '--workspace', '--help'],
  ],
  [['store', 'check', '--f'], ['--format']],
  [
    ['start', '--format', ''],
    ['text', 'json'],
  ],
  [['start', '--format=j'], ['--format=json']],
  [
    ['start', '--quiet='],
    ['--quiet=true', '--quiet=false'],
  ],
  [['start', '--quiet', '--for'], ['--format']],
  [['start', '--root-directory', 'x', '--workspace', ''], ['root:x']],
  [['start', '--root-directory=y', '--workspace=r'], ['--workspace=root:y']],
  [['start', '--workspace', 'other'], []],
  [['start', '--root-directory', ''], undefined],
  [['start', 'file'], undefined],
])('%p is completed by %p', async (words, expected) => {
  expect((await completeWords(program, words, names))?.map(({ word }) => word)).toEqual(expected);
});
