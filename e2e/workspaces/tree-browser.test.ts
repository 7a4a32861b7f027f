import { spawn, type ChildProcess } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { describeWith, programOnPath, repository } from '../harness/foreign-program.ts';
import { Kubectl } from '../harness/kubectl.ts';

/** `script` (util-linux) gives a program a terminal of its own. */
describeWith(programOnPath('script', '--version'), 'the tree of kubectl ws -i, in a terminal', (script) => {
  let cluster: ControlPlane;
  let kubectl: Kubectl;
  let terminal: ChildProcess | undefined;

  beforeAll(async () => {
    cluster = await startControlPlane();
    kubectl = await Kubectl.create({ copyOf: cluster.kubeconfig });
    await kubectl.ok(['ws', 'create', 'shop', '--location-selector', 'name=root']);
    const there = topologyName === 'sharded' ? 'shard-1' : 'root';
    await kubectl.ok(['ws', 'create', 'till', '--workspace', ':root:shop', '--location-selector', `name=${there}`]);
  }, 180_000);
  afterAll(async () => {
    terminal?.kill('SIGKILL');
    await kubectl?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('is walked through with keys, and left for a workspace', async () => {
    terminal = spawn(script, ['-qec', 'stty rows 24 cols 80 && kubectl ws -i', '/dev/null'], {
      env: {
        PATH: `${join(repository, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
        HOME: join(kubectl.kubeconfig, '..'),
        KUBECONFIG: kubectl.kubeconfig,
        TERM: 'xterm',
      },
      stdio: 'pipe',
    });
    const ended = new Promise<number | null>((resolve) => terminal?.once('close', resolve));
    let shown = '';
    terminal.stdout?.setEncoding('utf8').on('data', (text: string) => (shown += text));
    /** The last frame; each begins by clearing the screen. */
    const frame = (): string[] => (shown.split('\u001B[H\u001B[2J').at(-1) ?? '').split('\r\n');
    const shows = (line: string): Promise<void> =>
      eventually(() => expect(frame()).toContain(line), { timeout: 20_000 });

    await shows('→ ▼ root *');
    terminal.stdin?.write('j');
    await shows('→   ▶ shop');
    terminal.stdin?.write('\u001B[C');
    await shows('      ▶ till');
    terminal.stdin?.write('j');
    await shows('→     ▶ till');
    expect(frame()[0]).toContain('root:shop:till');
    terminal.stdin?.write('\r');
    expect(await ended).toBe(0);
    // The screen from before is back, and below it what every move prints.
    expect(shown).toContain('\u001B[?1049l');
    expect(shown).toContain("Current workspace is 'root:shop:till'");
    expect(await kubectl.ok(['ws', '.'])).toBe("Current workspace is 'root:shop:till'.\n");
  }, 240_000);
});
