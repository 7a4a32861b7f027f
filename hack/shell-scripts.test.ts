import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { findBinary } from '@multiplane/testing';

/* Scripts run on Linux and macOS: bash 3.2 and BSD's tools there, busybox in small images. */

const root = join(import.meta.dirname, '..');
const scripts = ['.ci', 'bin', 'hack']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
  )
  .filter((file) => /^[^.]+$|\.sh$/.test(file.slice(file.lastIndexOf('/') + 1)))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
  .filter(({ file, text }) => file.endsWith('.sh') || /^#!.*\b(?:ba)?sh\n/.test(text));

/** They run where apt-get is, in the build of the image, or beside a Kubernetes that was built on Linux. */
const forLinux = new Set(['.ci/run', 'hack/jemalloc', 'hack/image-root', 'hack/conformance/reference']);

/** What bash 3.2 of macOS lacks. */
const newerBash: Readonly<Record<string, RegExp>> = {
  mapfile: /\b(?:mapfile|readarray)\b/,
  'associative arrays': /\b(?:declare|local|typeset) -[a-zA-Z]*[An]/,
  'case of letters': /\$\{\w+(?:\[[^\]]*\])?(?:,,?|\^\^?)/,
  'transformations of parameters': /\$\{[^}]*@[QEPAKakUuL]\}/,
  '`&>>`, `|&`': /&>>|\|&/,
  coproc: /^\s*coproc\b/m,
  'wait -n': /\bwait -n\b/,
  'negative indexes': /\$\{\w+\[-\d/,
};

/** Options of GNU's tools that BSD's lack, or that mean something else there. */
const gnuOnly: Readonly<Record<string, RegExp>> = {
  'grep -P': /\bgrep -\w*P/,
  'sed -i without a suffix': /\bsed -i\b(?! '')/,
  'sed -r': /\bsed -\w*r\b/,
  'date -d': /\bdate (?:-\w+ )*(?:-d|--date)\b/,
  'stat -c': /\bstat (?:-\w+ )*(?:-c|--format|--printf)\b/,
  'readlink other than -f': /\breadlink -[em]\b/,
  'xargs -r': /\bxargs -\w*r\b/,
  'cp -t, --parents': /\bcp (?:-\w*t\b|--)/,
  'find -printf': /\bfind\b.*-(?:printf|executable)\b/,
  'head and tail with negative numbers': /\bhead -[nc] -\d/,
  'tar with long options': /\btar (?:-\w+ )*--(?!exclude)/,
  sha256sum: /^\s*(?:[^#]*[ |(])?sha256sum\b/m,
  'du -b': /\bdu -\w*b/,
};

/** `"${name[@]}"` of an array that is empty is an unbound variable before bash 4.4; where nothing asks for its length it needs `${name[@]+…}`. */
function unguardedArrays(text: string): string[] {
  const empty = [...text.matchAll(/(?:^|[\s;])(?:local )?(\w+)=\(\)/gm)].map(([, name]) => name as string);
  return empty.filter((name) => {
    const isCounted = new RegExp(`\\$\\{#${name}\\[@\\]\\}`).test(text);
    return !isCounted && new RegExp(`(?<!\\+)"\\$\\{${name}\\[@\\]\\}"`).test(text);
  });
}

const withoutComments = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n');
const found = (text: string, rules: Readonly<Record<string, RegExp>>): string[] =>
  Object.keys(rules).filter((name) => rules[name]?.test(withoutComments(text)));

test('the scripts are found', () => {
  expect(scripts.map(({ file }) => file)).toEqual(
    expect.arrayContaining([
      'bin/multiplane',
      'hack/node',
      'hack/test',
      'hack/local-cluster.sh',
      'hack/release/run',
      '.ci/run',
    ]),
  );
});

describe.each(scripts)('$file', ({ file, text }) => {
  test('runs with bash 3.2 and the tools of BSD', () => {
    if (forLinux.has(file)) return;
    // What comes after the look for apt-get runs on Debian only.
    const everywhere = text.split('if ! command -v apt-get')[0] as string;
    expect([...found(everywhere, newerBash), ...found(everywhere, gnuOnly)]).toEqual([]);
    expect(unguardedArrays(text)).toEqual([]);
  });

  test('has the syntax of its shell', () => {
    const shell = text.startsWith('#!/bin/sh') ? busybox() : ['bash'];
    const { status, stderr } = spawnSync(shell[0] as string, [...shell.slice(1), '-n', join(root, file)], {
      encoding: 'utf8',
    });
    expect([stderr, status]).toEqual(['', 0]);
  });
});

/** The smallest shell there is, else that of the system. */
function busybox(): readonly string[] {
  try {
    return [findBinary('busybox'), 'sh'];
  } catch {
    return ['/bin/sh'];
  }
}

test('the rules find what they are for', () => {
  const names = (text: string): string[] => [...found(text, newerBash), ...found(text, gnuOnly)];
  expect(names('mapfile -t a < <(ls)')).toEqual(['mapfile']);
  expect(names('local -A seen')).toEqual(['associative arrays']);
  expect(names('echo "${name,,}"')).toEqual(['case of letters']);
  expect(names("sed -i 's/a/b/' file")).toEqual(['sed -i without a suffix']);
  expect(names('# sed -i is of GNU\ntar -xzf a -C b')).toEqual([]);
  expect(unguardedArrays('a=()\nrun "${a[@]}"')).toEqual(['a']);
  expect(unguardedArrays('a=()\nrun ${a[@]+"${a[@]}"}')).toEqual([]);
});

test('shellcheck finds nothing', () => {
  const shellcheck = findBinary('shellcheck');
  // What sourced files set and use is seen from neither side.
  const flags = ['--shell=bash', '--severity=warning', '--exclude=SC2034,SC2154', '--format=gcc'];
  const { stdout, status } = spawnSync(shellcheck, [...flags, ...scripts.map(({ file }) => file)], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([stdout, status]).toEqual(['', 0]);
});
