// Prints an HdrHistogram interval log as HdrHistogram's own library reads it: a line for each interval with its tag (- for
// none), begin and end in milliseconds since 1970 and number of values, then lowest:highest:count of each bucket that
// holds one.
import java.io.File;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.HdrHistogram.HistogramLogReader;

public class HlogBuckets {
  public static void main(String[] arguments) throws Exception {
    HistogramLogReader reader = new HistogramLogReader(new File(arguments[0]));
    StringBuilder text = new StringBuilder();
    while (reader.hasNext()) {
      EncodableHistogram interval = reader.nextIntervalHistogram();
      if (interval == null) {
        continue;
      }
      Histogram histogram = (Histogram) interval;
      text.append(histogram.getTag() == null ? "-" : histogram.getTag());
      text.append(' ').append(histogram.getStartTimeStamp()).append(' ').append(histogram.getEndTimeStamp());
      text.append(' ').append(histogram.getTotalCount());
      for (HistogramIterationValue bucket : histogram.recordedValues()) {
        text.append(' ').append(histogram.lowestEquivalentValue(bucket.getValueIteratedTo()));
        text.append(':').append(histogram.highestEquivalentValue(bucket.getValueIteratedTo()));
        text.append(':').append(bucket.getCountAddedInThisIterationStep());
      }
      text.append('\n');
    }
    System.out.print(text);
  }
}
