/** TLS material towards etcd (PEM). */
export interface EtcdTls {
  readonly authority: Buffer;
  readonly certificate?: Buffer | undefined;
  readonly privateKey?: Buffer | undefined;
}
