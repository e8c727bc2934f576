export { ERROR_REGISTRY, type ErrorCode, type ErrorEntry, type ErrorRoom } from './registry.js';
export { type ErrorFacts, isSallyportError, SallyportError } from './sallyport-error.js';
