/** A path through a mounted workspace, which is served by another server. */
export class MountedPath {
  /** The URL in the status of the Workspace. */
  readonly url: string;
  /** Path segments after the mounted workspace. */
  readonly rest: readonly string[];
  constructor(url: string, rest: readonly string[]) {
    this.url = url;
    this.rest = rest;
  }
}
