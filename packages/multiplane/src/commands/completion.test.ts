import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TempDir, unlessMissing } from '@multiplane/testing';
import { completionScripts } from './completion-scripts.ts';

/** A `multiplane` that completes by three words, and prints what it was asked to the file `asked`. */
const fake = `#!/bin/sh
shift
printf '%s|' "$@" > "$(dirname "$0")/asked"
case "$*" in
  *file*) echo ':0' ;;
  *) printf 'snapshot\\tSave: a store.\\nroot:alpha\\tx\\n--format=json\\tx\\n:4\\n' ;;
esac
`;

const hasShell = (name: string): boolean => spawnSync(name, ['-c', 'true']).status === 0;
const shell =
  (name: string) =>
  (title: string, body: () => void): void =>
    unlessMissing(hasShell(name) ? undefined : `${name} is not on the PATH; install it`, describe)(title, body);

let folder: TempDir;
beforeAll(async () => {
  folder = await TempDir.create('completion');
  writeFileSync(folder.join('multiplane'), fake);
  chmodSync(folder.join('multiplane'), 0o755);
  for (const [name, { script }] of Object.entries(completionScripts)) writeFileSync(folder.join(name), script);
});
afterAll(() => folder.remove());

/** Runs a shell that finds the fake first. */
const run = (name: string, script: string): string =>
  execFileSync('sh', ['-c', `PATH="${folder.path}:$PATH" HOME="${folder.path}" exec "$0" -c "$1"`, name, script], {
    encoding: 'utf8',
  });

shell('bash')('the script of bash', () => {
  const completed = (line: string): string[] =>
    run(
      'bash',
      `source ${folder.join('bash')}; COMP_LINE='${line}'; COMP_POINT=${line.length}; _multiplane_complete; printf '%s\\n' "\${COMPREPLY[@]}"; cat ${folder.join('asked')}`,
    ).split('\n');

  test.each([
    ['multiplane sn', ['snapshot', 'sn|']],
    ['multiplane start --a b ', ['snapshot', 'root:alpha', '--format=json', 'start|--a|b||']],
    // Readline replaces only what follows a colon or an equals sign.
    ['multiplane x root:al', ['alpha', 'x|root:al|']],
    ['multiplane x --format=', ['json', 'x|--format=|']],
  ])('%p', (line, expected) => {
    expect(completed(line)).toEqual(expected);
  });

  test('completes files', () => {
    expect(completed(`multiplane file ${folder.join('powersh')}`)[0]).toBe(folder.join('powershell'));
  });
});

shell('zsh')('the script of zsh', () => {
  test('is valid and describes each word', () => {
    const output = run(
      'zsh',
      `compdef() { :; }; _describe() { print -rl -- "\${(@P)3}"; }; words=(multiplane s); CURRENT=2; source ${folder.join('zsh')}; _multiplane`,
    );
    expect(output.split('\n')).toEqual(['snapshot:Save: a store.', 'root\\:alpha:x', '--format=json:x', '']);
  });
});

shell('fish')('the script of fish', () => {
  test('offers the words of the program', () => {
    const output = run('fish', `source ${folder.join('fish')}; complete -C 'multiplane s'`);
    expect(output).toContain('snapshot\tSave: a store.');
  });
});

shell('pwsh')('the script of PowerShell', () => {
  test('offers the words of the program', () => {
    const output = run(
      'pwsh',
      `. ([scriptblock]::Create((Get-Content -Raw ${folder.join('powershell')}))); (TabExpansion2 'multiplane s' 12).CompletionMatches.CompletionText`,
    );
    expect(output).toContain('snapshot');
  });
});
