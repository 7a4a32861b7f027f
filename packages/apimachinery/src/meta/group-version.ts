/** A group and a version; the core group is the empty string. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}
export interface GroupVersionKind extends GroupVersion {
  readonly kind: string;
}
export interface GroupVersionResource extends GroupVersion {
  readonly resource: string;
}
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** `v1` for the core group, else `<group>/<version>`: the text of `apiVersion`. */
export function apiVersionOf(gv: GroupVersion): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`;
}

/** Splits an `apiVersion`; undefined when it has more than one slash. The empty text gives two empty parts. */
export function parseApiVersion(apiVersion: string): GroupVersion | undefined {
  const slash = apiVersion.indexOf('/');
  if (slash < 0) return { group: '', version: apiVersion };
  if (apiVersion.indexOf('/', slash + 1) >= 0) return undefined;
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** `configmaps` or `widgets.example.com`: how messages of errors name a resource. */
export function groupResourceText(gr: GroupResource): string {
  return gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`;
}

/** `example.com/v1, Kind=Foo`, as Kubernetes prints a GroupVersionKind. */
export function gvkText(gvk: GroupVersionKind): string {
  return `${gvk.group}/${gvk.version}, Kind=${gvk.kind}`;
}
