import type { VersionInfo } from './outer-application.ts';

/** The Kubernetes version whose API is spoken. */
const kubernetesVersion = { major: '1', minor: '36', patch: '0' };

/** What a server of this version of the program tells of itself (K9.4). */
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
