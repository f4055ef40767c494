import { CriError } from '../../cri/cri-error.ts';

export function sandboxNotFound(id: string): CriError {
  return new CriError('NotFound', `sandbox ${JSON.stringify(id)} not found`);
}
