/** An archive with the command and the plugins for one platform. */
export interface PlatformArchive {
  /** In words of Go, as krew selects by them. */
  readonly os: string;
  readonly arch: string;
  readonly url: string;
  readonly sha256: string;
}

/** A plugin for kubectl, under the name that krew knows it by. */
export interface Plugin {
  readonly name: string;
  /** Its launcher below the folder of the archive. */
  readonly program: string;
  readonly shortDescription: string;
  readonly description: string;
}

export const plugins: readonly Plugin[] = [
  {
    name: 'ws',
    program: 'bin/kubectl-ws',
    shortDescription: 'Enter and list workspaces of Multiplane and kcp',
    description: 'Shows, lists and enters workspaces: kubectl ws, kubectl ws tree, kubectl ws <path>.',
  },
  {
    name: 'kcp',
    program: 'bin/kubectl-kcp',
    shortDescription: 'Bind APIs and check access to workspaces',
    description:
      'Binds exported APIs, answers permission claims, takes snapshots of CRDs and checks an installation (kubectl kcp doctor).',
  },
  {
    name: 'create-workspace',
    program: 'bin/kubectl-create_workspace',
    shortDescription: 'Create workspaces of Multiplane and kcp',
    description: 'Creates a workspace and waits until it is ready: kubectl create-workspace <name> --enter.',
  },
];

/** The manifest of a plugin for `kubectl krew install --manifest`. `folder` is the one in the archives. */
export function krewManifest(
  plugin: Plugin,
  {
    version,
    folder,
    homepage,
    archives,
  }: {
    readonly version: string;
    readonly folder: string;
    readonly homepage: string;
    readonly archives: readonly PlatformArchive[];
  },
): object {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: plugin.name },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: plugin.shortDescription,
      description: plugin.description,
      platforms: archives.map(({ os, arch, url, sha256 }) => ({
        selector: { matchLabels: { os, arch } },
        uri: url,
        sha256,
        files: [{ from: `${folder}/*`, to: '.' }],
        bin: plugin.program,
      })),
    },
  };
}
