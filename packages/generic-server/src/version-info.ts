import type { VersionInfo } from './non-resource-endpoints.ts';

/** The Kubernetes version whose API is served. */
const kubernetesVersion = { major: '1', minor: '36', patch: '0' };

/** The version document of a server; `version` is the version of this program. */
export function versionInfo(version: string): VersionInfo {
  const { major, minor, patch } = kubernetesVersion;
  return {
    major,
    minor,
    gitVersion: `v${major}.${minor}.${patch}+multiplane-${version}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
