import { expect, test } from '@jest/globals';
import { ChildServer, type ChildServerOptions } from './child-server.ts';
import { eventually } from './eventually.ts';

const script = (code: string): Pick<ChildServerOptions, 'name' | 'command' | 'args'> => ({
  name: 'script',
  command: process.execPath,
  args: ['-e', code],
});

test('a server that exits immediately is reported with its output', async () => {
  await using server = new ChildServer({
    ...script('console.error("no such flag"); process.exit(3)'),
    probe: () => Promise.reject(new Error('down')),
  });
  await expect(server.start()).rejects.toMatchObject({
    message: expect.stringContaining('no such flag'),
    cause: { message: 'exited with 3' },
  });
  expect(server.running).toBe(false);
});

test('a missing program is reported', async () => {
  await using server = new ChildServer({
    name: 'ghost',
    command: '/no/such/program',
    args: [],
    probe: () => Promise.reject(new Error('down')),
  });
  await expect(server.start()).rejects.toThrow('failed to start ghost');
});

test('a server that ignores SIGTERM is killed after the grace period', async () => {
  const server = new ChildServer({
    ...script('process.on("SIGTERM", () => {}); console.log("up"); setInterval(() => {}, 1000)'),
    probe: () => (server.output.includes('up') ? Promise.resolve() : Promise.reject(new Error('down'))),
  });
  await server.start();
  expect(server.pid).toBeGreaterThan(0);
  await server.stop(10);
  expect(server.running).toBe(false);
});

test('a supervised server is restarted after it exits by itself, but not after kill', async () => {
  const server = new ChildServer({
    ...script('console.log("up"); setInterval(() => {}, 1000)'),
    probe: () => (server.output.includes('up') ? Promise.resolve() : Promise.reject(new Error('down'))),
    supervised: true,
  });
  await server.start();
  const first = server.pid;
  await server.crash();
  await eventually(() => expect(server.running && server.output.includes('up')).toBe(true));
  expect(server.pid).not.toBe(first);
  await server.kill();
  expect(server.running).toBe(false);
  await server.start();
  expect(server.running).toBe(true);
  await server.kill();
});
