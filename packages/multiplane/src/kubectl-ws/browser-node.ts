/** The APIs that a workspace exports and binds. */
export interface WorkspaceApis {
  readonly exports: readonly string[];
  readonly endpointSlices: readonly string[];
  /** With the reference of the export and the bound resources. */
  readonly bindings: readonly {
    readonly name: string;
    readonly exportReference: string;
    readonly resources: readonly string[];
  }[];
}

/** A workspace in the tree browser. */
export interface BrowserNode {
  readonly name: string;
  readonly path: string;
  readonly depth: number;
  readonly type: string | undefined;
  /** Undefined until it is loaded. */
  children: readonly BrowserNode[] | undefined;
  apis: WorkspaceApis | undefined;
  isOpen: boolean;
}
