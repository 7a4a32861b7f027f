import { TempDir } from '@multiplane/testing';
import { storageConformance } from '../../test/conformance/index.ts';
import type { Storage } from '../interface.ts';
import { openFileStorage } from './open-file-storage.ts';

storageConformance('file', async (): Promise<Storage> => {
  const tempDir = await TempDir.create('file-storage');
  const store = await openFileStorage({ directory: tempDir.path });
  const close = store.close.bind(store);
  store.close = async () => {
    await close();
    await tempDir.remove();
  };
  return store;
});
