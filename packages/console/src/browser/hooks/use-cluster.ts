import { useParams } from 'react-router';

/** The workspace that the page is about: its path, or the name of its logical cluster. */
export const useCluster = (): string => useParams()['cluster'] ?? 'root';
