/** A path that leads to a mounted workspace: to another address. */
export class MountedPath {
  /** As the Workspace says. */
  readonly url: string;
  /** Workspaces of the path behind the mounted one. */
  readonly rest: readonly string[];
  constructor(url: string, rest: readonly string[]) {
    this.url = url;
    this.rest = rest;
  }
}
