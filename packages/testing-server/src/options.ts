/** Flags that the environment of a test sets must not change its server, nor what a runner loads into its own processes. */
const isForServer = (name: string): boolean => name !== 'NODE_OPTIONS' && !name.startsWith('MULTIPLANE_');

/** The environment of the server. */
export const serverEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && isForServer(entry[0]),
    ),
  );

/** Folders of programs. */
export const programFolders = (): string => process.env['PATH'] ?? '';
