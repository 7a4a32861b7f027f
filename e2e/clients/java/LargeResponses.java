import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Reads a large object and writes a small one over each connection, in turns, with java.net.http: over HTTP/1.1, and over HTTP/2 when
 * PROTOCOL is 2. Prints how many requests got a response, and why the others did not.
 */
public final class LargeResponses {
    private static final String MAPS = System.getenv("MAPS");
    private static final Map<String, Integer> outcomes = new TreeMap<>();

    public static void main(String[] arguments) throws Exception {
        // The client repeats requests whose connection was closed.
        System.setProperty("jdk.httpclient.disableRetryConnect", "true");
        System.setProperty("jdk.httpclient.enableAllMethodRetry", "false");
        System.setProperty("jdk.httpclient.redirects.retrylimit", "1");
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (FileInputStream file = new FileInputStream(System.getenv("CA"))) {
            store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, trust.getTrustManagers(), null);
        Thread[] threads = new Thread[Integer.parseInt(System.getenv("CONNECTIONS"))];
        for (int i = 0; i < threads.length; i++) {
            HttpClient client = HttpClient.newBuilder()
                .sslContext(tls)
                .version("2".equals(System.getenv("PROTOCOL")) ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1)
                .build();
            threads[i] = new Thread(() -> work(client));
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        outcomes.forEach((outcome, count) -> System.out.println(count + " " + outcome));
        System.exit(0);
    }

    private static void work(HttpClient client) {
        int rounds = Integer.parseInt(System.getenv("ROUNDS"));
        for (int i = 0; i < rounds; i++) {
            send(client, request(MAPS + "/large").GET());
            send(client, request(MAPS + "?dryRun=All").header("Content-Type", "application/json")
                .expectContinue(i % 2 == 0)
                .POST(HttpRequest.BodyPublishers.ofString("{\"metadata\":{\"name\":\"small\"},\"data\":{\"a\":\"x\"}}")));
            send(client, request(MAPS).GET());
        }
    }

    private static HttpRequest.Builder request(String url) {
        return HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer " + System.getenv("TOKEN"));
    }

    private static void send(HttpClient client, HttpRequest.Builder request) {
        String outcome;
        try {
            HttpResponse<byte[]> response = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
            outcome = response.statusCode() + " " + (response.body().length > 80000 ? "True" : "False");
        } catch (Exception error) {
            outcome = error.toString();
        }
        synchronized (outcomes) {
            outcomes.merge(outcome, 1, Integer::sum);
        }
    }
}
