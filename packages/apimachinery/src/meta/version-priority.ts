interface KubeVersion {
  readonly major: number;
  /** 3 for GA, 2 for beta, 1 for alpha. */
  readonly stability: number;
  readonly minor: number;
}

const kubeVersion = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/;

function parse(version: string): KubeVersion | undefined {
  const match = kubeVersion.exec(version);
  if (match === null) return undefined;
  const [, major, stage, minor] = match;
  return {
    major: Number(major),
    stability: stage === undefined ? 3 : stage === 'beta' ? 2 : 1,
    minor: Number(minor ?? 0),
  };
}

/**
 * Order of API versions for discovery, most preferred first: GA, beta, alpha, each from the newest to the oldest, then
 * all that do not look like versions, by name (`version.CompareKubeAwareVersionStrings`, reversed).
 */
export function compareVersionPriority(a: string, b: string): number {
  if (a === b) return 0;
  const left = parse(a);
  const right = parse(b);
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    if (right !== undefined) return 1;
    return a < b ? -1 : 1;
  }
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}
