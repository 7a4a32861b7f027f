import {
  fieldErrors,
  quote,
  validateDns1123Label,
  validateDns1123Subdomain,
  type FieldError,
  type FieldPath,
} from '@multiplane/apimachinery';

const maxDomain = 253;
const maxSignerName = maxDomain + 1 + 63 + 1 + 253;

/** `<domain of two labels at least>/<subdomain>`. */
export function signerNameErrors(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [fieldErrors.required(path)];
  const [domain = '', local, more] = name.split('/');
  if (local === undefined || more !== undefined) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [fieldErrors.invalid(path, name, detail)];
  }
  const errors: FieldError[] = [];
  if (domain.length > maxDomain) errors.push(fieldErrors.tooLong(path, maxDomain));
  const labels = domain.split('.');
  for (const label of labels) {
    for (const message of validateDns1123Label(label)) {
      errors.push(fieldErrors.invalid(path, domain, `validating label ${quote(label)}: ${message}`));
    }
  }
  if (labels.length < 2) {
    errors.push(fieldErrors.invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  for (const label of local.split('.')) {
    for (const message of validateDns1123Subdomain(label)) {
      errors.push(fieldErrors.invalid(path, local, `validating label ${quote(label)}: ${message}`));
    }
  }
  if (name.length > maxSignerName) errors.push(fieldErrors.tooLong(path, maxSignerName));
  return errors;
}
