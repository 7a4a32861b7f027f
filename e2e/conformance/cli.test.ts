import { spawn } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, TempDir } from '@multiplane/testing';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { describeWithKubectl, shortProcess } from '../harness/kubectl.ts';
import { cliDifferences, cliExceptions } from './cli-exceptions.ts';
import { cliSetUps, cliTearDowns } from './cli-set-up.ts';

/** One command of a transcript: `$ <command>`, then what it printed and how it ended. */
interface Command {
  readonly line: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const folder = join(import.meta.dirname, 'cli');
const plugins = join(import.meta.dirname, '..', '..', 'bin');
const transcripts = readdirSync(folder).sort();
const run = 'x7k2';

function commandsOf(text: string): Command[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = /^--- exit (\d+)$/m.exec(part);
      const body = part.slice(part.indexOf('\n') + 1, end?.index ?? part.length);
      const streams = { stdout: '', stderr: '' };
      for (const piece of body.split(/^(?=--- std)/m)) {
        const [head, ...lines] = piece.split('\n');
        if (head === '--- stdout') streams.stdout = lines.join('\n');
        if (head === '--- stderr') streams.stderr = lines.join('\n');
      }
      return { line: part.slice(0, part.indexOf('\n')), ...streams, code: Number(end?.[1] ?? 0) };
    });
}

describeWithKubectl('the plugins of kubectl say what those of kcp say', () => {
  let cluster: ControlPlane;
  let home: TempDir;
  beforeAll(async () => {
    cluster = await startControlPlane();
    home = await TempDir.create('cli');
  }, 180_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await home?.remove();
  });

  const shell = (line: string): Promise<Omit<Command, 'line'>> =>
    new Promise((resolve, reject) => {
      const child = spawn('sh', ['-c', line], {
        cwd: home.join('.'),
        env: {
          PATH: `${plugins}${delimiter}${process.env['PATH'] ?? ''}`,
          HOME: home.join('.'),
          KUBECONFIG: home.join('kubeconfig'),
          ...shortProcess,
        },
      });
      const seen = { stdout: '', stderr: '' };
      child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.stderr += text));
      child.once('error', reject);
      child.once('close', (code) => resolve({ ...seen, code: code ?? -1 }));
    });

  /** Commands around a transcript. */
  const must = async (lines: string | undefined): Promise<void> => {
    if (lines === undefined) return;
    const { code, stdout, stderr } = await shell(`set -e\n${lines.replaceAll('{{run}}', run)}`);
    if (code !== 0) throw new Error(`${stderr}${stdout}`);
  };

  test.each(transcripts.filter((file) => cliExceptions[file] === undefined))(
    '%s',
    async (file) => {
      writeFileSync(home.join('kubeconfig'), readFileSync(cluster.kubeconfig));
      // The transcript before may have ended while what it deleted was still going.
      await eventually(
        async () => {
          const { stdout } = await shell(`kubectl get workspace w-${run} -o jsonpath='{.metadata.deletionTimestamp}'`);
          if (stdout !== '') throw new Error('its workspace is still going');
        },
        { timeout: 20_000 },
      );
      await must(cliSetUps[file]);
      const commands = commandsOf(readFileSync(join(folder, file), 'utf8'));
      const problems: string[] = [];
      const seenLines: string[] = [];
      for (const { line, ...expected } of commands) {
        // A transcript shows its input files first.
        if (line.startsWith('cat ') && !line.includes('|')) {
          writeFileSync(home.join(line.slice('cat '.length)), expected.stdout);
          continue;
        }
        const seen = await shell(line.replaceAll('{{run}}', run));
        const plain = (text: string): string =>
          text.replaceAll(run, '{{run}}').replaceAll(new URL(cluster.url).host, '{{host}}');
        const got = { stdout: plain(seen.stdout), stderr: plain(seen.stderr), code: seen.code };
        seenLines.push(line);
        const times = seenLines.filter((before) => before === line).length;
        const want = (cliDifferences[`${line} #${times}`] ?? cliDifferences[line])?.want ?? expected;
        for (const part of ['stdout', 'stderr', 'code'] as const) {
          const wanted = hereOf({ ...expected, ...want }[part]);
          if (String(got[part]).trimEnd() !== String(wanted).trimEnd())
            problems.push(`$ ${line}\n${part}: want ${JSON.stringify(wanted)}\n     got ${JSON.stringify(got[part])}`);
        }
      }
      await must(cliTearDowns[file]);
      expect(problems).toEqual([]);
    },
    180_000,
  );
});

/** The kubeconfig of a sharded control plane has no contexts that lead past the front-proxy. */
function hereOf<T>(wanted: T): T | string {
  return topologyName === 'sharded' && typeof wanted === 'string'
    ? wanted.replace('shard-base\nsystem:admin\n', '')
    : wanted;
}

test('every exception names a transcript or a command that is there', () => {
  const lines = new Set(
    transcripts.flatMap((file) => commandsOf(readFileSync(join(folder, file), 'utf8')).map(({ line }) => line)),
  );
  const files = [cliExceptions, cliSetUps, cliTearDowns].flatMap((each) => Object.keys(each));
  expect(files.filter((file) => !transcripts.includes(file))).toEqual([]);
  expect(Object.keys(cliDifferences).filter((line) => !lines.has(line.replace(/ #\d+$/, '')))).toEqual([]);
});
