/** Version of this program; the API reports it behind the Kubernetes version it speaks (`/version`). */
export const version = '0.1.0';
