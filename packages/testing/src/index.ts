/** TEST ONLY: launchers for etcd and NATS, a TCP proxy that can be cut, certificates, polling without sleeps. */
export {};
