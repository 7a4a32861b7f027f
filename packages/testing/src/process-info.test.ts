import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ProcessInfo, type ProcessInfoModules } from './process-info.ts';
import { MissingPrerequisiteError } from './unless-missing.ts';

/** A machine with these files, folders and programs only. */
function fakeMachine(
  platform: string,
  content: Readonly<Record<string, string | readonly string[]>>,
): ProcessInfoModules {
  const find = <T>(key: string): T => {
    if (!(key in content)) throw new Error(`there is no ${key}`);
    return content[key] as T;
  };
  return {
    platform,
    readFile: (path) => find<string>(path),
    listFolder: (path) => find<readonly string[]>(path),
    run: (program, args) => find<string>([program, ...args].join(' ')),
  };
}

describe('on Linux', () => {
  const info = new ProcessInfo(
    fakeMachine('linux', {
      '/proc/7/cmdline': 'node\0dist/main.js\0start\0',
      '/proc/7/status': 'Name:\tnode\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\n',
      '/proc/7/fd': ['0', '1', '2', '17'],
      '/proc/7/task/7/schedstat': '12500000 300 4\n',
      '/proc/7/task': ['7', '8', '9'],
      '/proc/7/task/7/stat': '7 (node) T 1 7',
      '/proc/7/task/8/stat': '8 (a) b) R) S 1 7',
    }),
  );

  test('proc(5) tells everything', () => {
    expect(info.arguments(7)).toBe('node dist/main.js start ');
    expect(info.memory(7)).toEqual({ resident: 2 << 20, anonymous: 1 << 20 });
    expect(info.openFiles(7)).toBe(4);
    expect(info.mainThreadMs(7)).toBe(12.5);
  });

  test('a thread that ends meanwhile has no state', () => {
    expect(info.threadStates(7)).toEqual(['T', 'S']);
  });

  test('an unknown process has no arguments and no threads', () => {
    expect(info.arguments(8)).toBe('');
    expect(info.threadStates(8)).toEqual([]);
    expect(() => info.memory(8)).toThrow('there is no ');
  });
});

describe('on macOS', () => {
  const info = new ProcessInfo(
    fakeMachine('darwin', {
      'ps -o args= -p 7': 'node dist/main.js start\n',
      'ps -o rss= -p 7': '  2048\n',
      'ps -o state= -p 7': 'T+\n',
      'lsof -n -P -F f -p 7': 'p7\nfcwd\nftxt\nf0\nf1\nf17\n',
    }),
  );

  test('ps and lsof tell what they can', () => {
    expect(info.arguments(7)).toBe('node dist/main.js start ');
    expect(info.memory(7)).toEqual({ resident: 2 << 20, anonymous: 2 << 20 });
    expect(info.openFiles(7)).toBe(3);
    expect(info.threadStates(7)).toEqual(['T']);
  });

  test('tests that need the processor time of a thread are skipped with the reason', () => {
    expect(() => info.mainThreadMs(7)).toThrow(MissingPrerequisiteError);
    expect(() => info.mainThreadMs(7)).toThrow(/darwin does not tell the processor time of a thread/);
  });

  test('an unknown process has no arguments and no threads', () => {
    expect(info.arguments(8)).toBe('');
    expect(info.threadStates(8)).toEqual([]);
    expect(() => info.memory(8)).toThrow('there is no ');
  });
});

describe('on this machine', () => {
  const info = new ProcessInfo();
  let child: ReturnType<typeof spawn>;
  beforeEach(async () => {
    child = spawn(process.execPath, ['-e', 'process.stdout.write("ready"); process.stdin.resume()', 'marked'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
  });
  afterEach(() => {
    child.kill('SIGKILL');
  });

  test('it sees another process', () => {
    const pid = child.pid as number;
    expect(info.arguments(pid)).toMatch(/ marked $/);
    expect(info.memory(pid).resident).toBeGreaterThan(10 << 20);
    expect(info.memory(pid).anonymous).toBeGreaterThan(1 << 20);
    expect(info.openFiles(pid)).toBeGreaterThanOrEqual(3);
    expect(info.threadStates(pid).length).toBeGreaterThan(0);
  });

  test('it does not see one that has ended', async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(info.arguments(child.pid as number)).toBe('');
    expect(info.threadStates(child.pid as number)).toEqual([]);
  });
});
