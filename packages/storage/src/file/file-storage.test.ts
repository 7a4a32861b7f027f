import { TempDir } from '@multiplane/testing';
import { storageConformance } from '../conformance/index.ts';
import type { Storage } from '../interface.ts';
import { openFileStorage } from './open-file-storage.ts';

storageConformance('file', async (): Promise<Storage> => {
  const folder = await TempDir.create('file-storage');
  const store = await openFileStorage({ directory: folder.path });
  const close = store.close.bind(store);
  store.close = async () => {
    await close();
    await folder.remove();
  };
  return store;
});
