import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFiles, type Place } from './topology.ts';

export interface LocalPlaceOptions {
  /** Absolute. */
  readonly directory: string;
  readonly shards: readonly string[];
  /** Which port a process gets; by default the usual one. */
  readonly port?: Place['port'] | undefined;
  readonly flags?: Place['flags'];
}

/** A topology on this machine: everything below one folder, everybody on loopback. */
export function localPlace({ directory, shards, port = (_name, usual) => usual, flags }: LocalPlaceOptions): Place {
  return {
    shards,
    pki: join(directory, 'pki'),
    config: join(directory, 'config'),
    data: (process) => join(directory, 'data', process),
    host: () => '127.0.0.1',
    listen: '127.0.0.1',
    port,
    externalUrl: `https://localhost:${port('front-proxy', 6443)}`,
    flags,
  };
}

/** Makes the folders and files that are not certificates. */
export function preparePlace(place: Place): void {
  mkdirSync(place.config, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(configFiles(place))) {
    writeFileSync(join(place.config, name), content, { mode: 0o600 });
  }
}

/** Ports one after the other from `first` on, each process always the same one. */
export function portsFrom(first: number): Place['port'] {
  const given = new Map<string, number>();
  return (process) => {
    const port = given.get(process) ?? first + given.size;
    given.set(process, port);
    return port;
  };
}
