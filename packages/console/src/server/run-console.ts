import type { ConsoleServerOptions } from './options.ts';
import type { ConsoleModules } from './server.ts';

/** Runs the console as a process of its own until the signal aborts; loads it now, so that a shard with a console starts without it. */
export async function runConsole(options: ConsoleServerOptions, modules: ConsoleModules): Promise<void> {
  const server = await import('./server.ts');
  await server.runConsole(options, modules);
}
