import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/*
 * Passes bytes on to a port of this machine, and prints its own: what a process costs that does nothing but stand in the
 * way. It can read nothing, as TLS is between the client and the server behind.
 */
const behind = Number(process.argv[2]);
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ host: '127.0.0.1', port: behind, noDelay: true });
  join(client, upstream);
  join(upstream, client);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));

function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => to.destroy());
}
