import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFiles, portNames, type Place } from './topology.ts';

export interface LocalPlaceOptions {
  /** Absolute. */
  readonly directory: string;
  readonly shards: readonly string[];
  /** Ports to be given out instead of the usual ones, at least as many as {@link portNames} has names. */
  readonly ports?: readonly number[] | undefined;
  readonly flags?: Place['flags'];
  readonly mappings?: Place['mappings'];
  readonly hasConsole?: boolean | undefined;
  readonly batteries?: Place['batteries'];
}

/** A topology on this machine: everything below one folder, everybody on loopback. */
export function localPlace(options: LocalPlaceOptions): Place {
  const { directory, shards, ports, flags, mappings, hasConsole, batteries } = options;
  const names = portNames(shards);
  // By name, so that every call gives a process the same one.
  const port: Place['port'] = (name, usual) => (ports === undefined ? usual : (ports[names.indexOf(name)] as number));
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
    mappings,
    hasConsole,
    batteries,
  };
}

/** Makes the folders and files that are not certificates. */
export function preparePlace(place: Place): void {
  mkdirSync(place.config, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(configFiles(place))) {
    writeFileSync(join(place.config, name), content, { mode: 0o600 });
  }
}
